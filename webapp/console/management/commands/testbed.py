"""``manage.py testbed``: the emulated Internet, its truth, and what a crawl would see of it."""

from typing import Any

from django.core.management.base import CommandParser

from tasks.surveys import export, hierarchy, observation, worlds
from webapp.console.input_files import input_file, input_file_of
from webapp.console.product_command import ProductCommand


class Command(ProductCommand):
    """Serve an emulated Internet on loopback, or print its ground truth."""

    help = "serve an emulated Internet on loopback, or print its truth"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        serve = actions.add_parser("serve", help="answer DNS for the world on loopback")
        serve.add_argument("--address", action="append", default=[], metavar="127.…")
        serve.add_argument("--port", type=int, default=5300)
        truth = actions.add_parser("truth", help="what is true of the names that a crawl can find")
        truth.add_argument("--no-axfr", action="store_true")
        see = actions.add_parser("observe", help="a survey of the world without asking anything")
        see.add_argument("--name", default="", help="of the survey; default the world's")
        for sub in (serve, truth, see):
            sub.add_argument("world", metavar="WORLD")
            sub.add_argument("--scale", metavar="1/N", help="default 1/100")
            sub.add_argument("--seed", type=int, default=1)
            sub.add_argument(
                "--domains", type=input_file, metavar="FILE", help="build on these domain names"
            )
            sub.add_argument(
                "--ranges",
                action="append",
                type=input_file_of,
                default=[],
                metavar="PROVIDER=FILE",
                help="draw addresses from these published ranges",
            )
            sub.add_argument("--wordlist", type=input_file, metavar="FILE")
        root = actions.add_parser("hierarchy", help="answer DNS from root servers down on loopback")
        root.add_argument("--zones", type=int, default=200, metavar="N")
        root.add_argument("--names", type=int, default=10, metavar="N", help="of each zone")
        root.add_argument("--seed", type=int, default=1)
        root.add_argument("--network", default="127.53", metavar="127.N", help="of all servers")
        root.add_argument("--port", type=int, default=5300)
        root.add_argument("--no-faults", action="store_true", help="every delegation is sound")
        for sub in actions.choices.values():
            sub.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "hierarchy":
            self._serve_hierarchy(options)
            return
        chosen = worlds.options_from(options)
        world = worlds.create_world(chosen)
        for note in world.notes:
            self.write_note(note)
        if options["action"] == "truth":
            self.write_json(worlds.world_truth(world, chosen, axfr=not options["no_axfr"]))
            return
        if options["action"] == "observe":
            self._observe(world, options)
            return
        folder = worlds.publish(world, chosen)
        addresses = tuple(options["address"]) or ("127.0.0.1",)
        self.write_note(f"{world.id}: {len(world.zones):,} domains; files in {folder}")

        def ready(port: int) -> None:
            self.write_note(
                f"answering on {', '.join(addresses)} port {port}; try: manage.py survey "
                f"{folder / 'domains.csv'} --name-server {addresses[0]}:{port}"
            )

        worlds.serve_world(world, addresses, options["port"], ready)

    def _serve_hierarchy(self, options: dict[str, Any]) -> None:
        made = hierarchy.build_hierarchy(
            options["zones"],
            options["names"],
            seed=options["seed"],
            network=options["network"],
            faults=not options["no_faults"],
        )
        port = options["port"]

        def ready() -> None:
            if options["json"]:
                self.write_json(hierarchy.describe_hierarchy(made, port))
                self.stdout.flush()
            roots = " ".join(f"--root-server {root}:{port}" for root in made.roots)
            self.write_note(
                f"{len(made.zones):,} zones on {len(made.held):,} addresses; try: manage.py "
                f"resolve - --iterative --allow-network 127.0.0.0/8 {roots}"
            )

        hierarchy.serve_hierarchy(made, port, ready)

    def _observe(self, world: Any, options: dict[str, Any]) -> None:
        chosen = worlds.options_from(options)
        survey = observation.observe_world(world, chosen, options["name"], self._show)
        document = export.survey_document(survey.slug)
        if options["json"]:
            self.write_json(document)
            return
        self.stdout.write(f"{survey.slug}: {document['names']['cloud']:,} names in a cloud")

    def _show(self, done: int, total: int) -> None:
        if done % 20_000 == 0 or done == total:
            self.write_note(f"{done:,} of {total:,} domains stored")
