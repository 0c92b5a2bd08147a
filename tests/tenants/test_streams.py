"""An event stream of a survey, and what becomes of it when the survey changes hands."""

import asyncio
from typing import Any

import pytest

from tests.pages import cast
from webapp.api.framework.events import stream_survey
from webapp.store.models import Survey


@pytest.mark.django_db(transaction=True)
def test_events_stop_when_the_survey_is_not_theirs_any_more(settings: Any, tmp_path: Any) -> None:
    settings.UPLOADS_DIR = tmp_path
    survey = cast.running()

    async def follow() -> list[str]:
        parts = []
        async for part in stream_survey(survey.slug):
            parts.append(part)
            await Survey.objects.filter(pk=survey.pk).aupdate(owner=await make_user())
        return parts

    assert len(asyncio.run(asyncio.wait_for(follow(), 20))) == 1


async def make_user() -> Any:
    from django.contrib.auth import get_user_model

    return await get_user_model().objects.acreate(username="carl")
