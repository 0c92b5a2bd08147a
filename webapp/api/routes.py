"""placeholder"""
from ninja import NinjaAPI
api = NinjaAPI()
