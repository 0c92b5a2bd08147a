import random
import socket

from crawlers.dns.message import encode_name
from crawlers.engine.config import EngineConfig, Question
from crawlers.engine.engine import Engine
from crawlers.engine.nameservers import Server
from crawlers.files.jsonl import LineWriter
from crawlers.iterative import addressed
from crawlers.iterative.run import Loop
from testbed.hierarchy.generation import generate_hierarchy
from testbed.hierarchy.server import PacketResponder, serving
from tests.crawlers.engine.cores import load_compiled_step
from tests.crawlers.iterative.cores import ask_compiled, ask_reference, read_lines
from tests.crawlers.iterative.test_resolver import (
    NETWORK,
    Builder,
    HierarchyServers,
    free_port,
    resolver_of,
)


def test_the_loop_finds_what_the_reference_engine_finds_and_writes_the_same_lines():
    world = generate_hierarchy(150, 4, seed=5, network=NETWORK)
    asked = [Question(*q, tag=n) for n, q in enumerate(dict.fromkeys(world.questions))]
    random.Random(5).shuffle(asked)
    port, by_loop, writer = free_port(), {}, LineWriter()
    by_tag = {question.tag: question for question in asked}
    types = tuple({q.type: None for q in asked})
    with serving(world, port):
        with resolver_of(world, port) as resolver:
            reference = {r.question: r for r in ask_reference(resolver, asked)}
        with resolver_of(world, port, case_mixing=True) as resolver:
            run, n_lines = resolver.open_run(asked, Loop(load_compiled_step(), types)), 0
            while not run.is_over:
                by_loop.update({r.question: r for r in run.step()})
                lines = run.pop_lines()
                for text, result in read_lines(lines, by_tag):
                    n_lines += 1
                    by_loop[result.question] = result
                    at = text[text.index(b',"at":"') :]
                    assert writer.write([result]).encode().rpartition(b',"at":')[0] in text
                    assert text.endswith(at)
    assert n_lines > 0.6 * len(asked)
    assert by_loop.keys() == reference.keys()
    for question, result in by_loop.items():
        expected = reference[question]
        assert (result.status, result.answers) == (expected.status, expected.answers), question
        if result.authorities and expected.authorities:
            assert result.authorities == expected.authorities


def forged(packet):
    """A reply that would be believed if it came from the server."""
    end = packet.index(b"\0", 12) + 5
    record = b"\xc0\x0c\0\1\0\1\0\0\1\0\0\4\xc6\x33\x64\x07"
    return packet[:2] + b"\x84\0\0\1\0\1\0\0\0\0" + packet[12:end] + record


def test_replies_of_other_addresses_are_not_believed():
    builder = Builder()
    own = builder.give_hosts("a.test", 40)
    with (
        HierarchyServers(builder.world) as servers,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as attacker,
        resolver_of(builder.world, servers.port) as resolver,
    ):
        # The same port at another address: only the source tells the two apart.
        attacker.bind((f"{NETWORK}.249.1", servers.port))
        ports = []
        respond = servers.responder.respond

        def answer(address, packet, **how):
            if address == own:
                for port in ports:
                    attacker.sendto(forged(packet), ("127.0.0.1", port))
            return respond(address, packet, **how)

        servers.responder.respond = answer
        resolver.engine.sockets.open_shared(socket.AF_INET)
        for number in resolver.engine.sockets.descriptors():
            with socket.socket(fileno=number) as sock:
                if not sock.getsockname()[1]:
                    sock.bind(("127.0.0.1", 0))
                ports.append(sock.getsockname()[1])
                sock.detach()
        questions = [Question(f"h{n}.a.test") for n in range(40)]
        results = list(ask_compiled(resolver, questions))
        assert {r.answers[0].data for r in results} == {"198.18.0.1"}
        assert resolver.stats.stray >= 40


def test_records_of_other_zones_in_an_answer_are_left_out():
    builder = Builder()
    own = builder.give_hosts("a.test", 30)
    name, host = encode_name("bank.test"), encode_name("evil.test")
    record = name + b"\0\2\0\1\0\0\1\0" + len(host).to_bytes(2, "big") + host

    class Poisoning(PacketResponder):
        def respond(self, address, packet, **how):
            reply = super().respond(address, packet, **how)
            if address != own or reply[6:10] != b"\0\1\0\0":
                return reply
            # An authority of another zone before the additional record.
            opt = reply[-11:] if reply[11] else b""
            body = reply[12 : len(reply) - len(opt)]
            return reply[:8] + b"\0\1" + reply[10:12] + body + record + opt

    with (
        HierarchyServers(builder.world, responder=Poisoning) as servers,
        resolver_of(builder.world, servers.port) as resolver,
    ):
        results = list(ask_compiled(resolver, [Question(f"h{n}.a.test") for n in range(30)]))
    assert {r.answers[0].data for r in results} == {"198.18.0.1"}
    assert {r.authorities for r in results} == {()}


def test_more_servers_than_the_loop_knows_at_a_time_are_asked(monkeypatch):
    monkeypatch.setattr(addressed, "_ROWS", 4)
    builder = Builder()
    for n in range(12):
        zone = builder.give(f"z{n}.test", builder.address())
        for number in range(5):
            zone.add(f"h{number}.z{n}.test", "A", "198.18.0.1")
    questions = [Question(f"h{i}.z{n}.test") for i in range(5) for n in range(12)]
    with (
        HierarchyServers(builder.world) as servers,
        resolver_of(builder.world, servers.port, window=10) as resolver,
    ):
        results = list(ask_compiled(resolver, questions))
    assert {r.question for r in results} == set(questions)
    assert {r.status for r in results} == {"NOERROR"}


def test_an_address_that_the_kernel_refuses_takes_no_other_question_with_it():
    builder = Builder()
    own = builder.give_hosts("a.test", 20)
    with (
        HierarchyServers(builder.world) as servers,
        Engine(
            [Server(own, servers.port)], EngineConfig(timeout_s=0.3, retries=0, follow=False)
        ) as engine,
    ):
        run = addressed.AddressedRun(engine, load_compiled_step(), ("A",))
        good = Server(builder.tld, servers.port)
        # A socket that is not allowed to broadcast.
        bad = Server("255.255.255.255", servers.port)
        run.ask_in_loop(
            Question(f"h{n}.a.test", "A", n, bad if n == 3 else good, "", "test") for n in range(20)
        )
        found = {}
        while not run.is_over:
            found.update({r.question.tag: r.status for r in run.step()})
            found.update(dict.fromkeys(run.pop_written().tags, "NOERROR"))
    assert found.pop(3) == "NETWORK"
    assert len(found) == 19
    assert "TIMEOUT" not in found.values()
