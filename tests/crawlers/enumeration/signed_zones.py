"""A zone that looks signed: what RFC 4035 has a server say about it, without real signatures."""

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

SOA_TEXT = "ns1.{0} hostmaster.{0} 1 7200 3600 1209600 300"
SIGNATURE = "{0} 13 2 300 20300101000000 20200101000000 12345 {1} AAAA"
DATA = {
    "A": "10.0.0.1",
    "AAAA": "2001:db8::1",
    "CNAME": "elsewhere.test.",
    "TXT": '"text"',
    "NS": "ns.elsewhere.test.",
    "DS": "12345 13 2 " + "00" * 32,
    "MX": "10 mail.elsewhere.test.",
}


class Signed:
    """``nodes`` maps owners below the zone ("www", "*") to their types; the apex is added."""

    def __init__(self, zone, nodes):
        self.apex = dns.name.from_text(zone)
        self.nodes = {self.apex: ["SOA", "NS", "DNSKEY"]}
        for label, types in nodes.items():
            self.nodes[dns.name.from_text(label, self.apex)] = list(types)
        self.chain = sorted(n for n in self.nodes if not self._cut_above(n))
        self.ends = {n: self.chain[(i + 1) % len(self.chain)] for i, n in enumerate(self.chain)}

    def expected(self):
        """Names that a walk has to find."""
        wanted = {"A", "AAAA", "CNAME", "NS"}
        found = {n for n in self.chain if wanted & set(self.nodes[n]) and n != self.apex}
        texts = {n.canonicalize().to_text(omit_final_dot=True) for n in found}
        return {t for t in texts if "*" not in t and "\\" not in t}

    def _cut_above(self, name):
        while name != self.apex:
            name = name.parent()
            if name != self.apex and "NS" in self.nodes.get(name, ()):
                return name
        return None

    def rrset(self, owner, kind):
        data = SOA_TEXT.format(self.apex) if kind == "SOA" else DATA.get(kind, "257 3 13 AAAA")
        return dns.rrset.from_text(owner, 300, "IN", kind, data)

    def nsec(self, owner):
        types = " ".join([*self.nodes[owner], "RRSIG", "NSEC"])
        return dns.rrset.from_text(owner, 300, "IN", "NSEC", f"{self.ends[owner]} {types}")

    def cover(self, name):
        """The record of the name, or of the last one before it."""
        return self.nsec(max(n for n in self.chain if n <= name))

    def signature(self, found):
        kind = dns.rdatatype.to_text(found.rdtype)
        return dns.rrset.from_text(
            found.name, 300, "IN", "RRSIG", SIGNATURE.format(kind, self.apex)
        )

    def to_text(self):
        """The zone as a master file, with its chain and signatures."""
        found = [self.rrset(n, kind) for n, kinds in self.nodes.items() for kind in kinds]
        found += [self.nsec(n) for n in self.chain]
        found += [self.signature(r) for r in found if not self._cut_above(r.name)]
        return "\n".join(map(str, found)) + "\n"

    def answer(self, query, edit=None):
        """The reply to a query; ``edit`` may change the message before it is signed."""
        message = dns.message.make_response(query)
        self._fill(message, query.question[0].name, query.question[0].rdtype)
        if not query.ednsflags & dns.flags.DO:
            kept = [r for r in message.authority if r.rdtype != dns.rdatatype.NSEC]
            message.authority[:] = kept
        if edit:
            edit(message)
        if query.ednsflags & dns.flags.DO:
            for section in (message.answer, message.authority):
                section += [self.signature(r) for r in section if r.rdtype != dns.rdatatype.NS]
        return message

    def _fill(self, message, name, rdtype):
        cut = self._cut_above(name)
        if cut is None and name != self.apex and "NS" in self.nodes.get(name, ()):
            cut = name
        if not name.is_subdomain(self.apex):
            message.set_rcode(dns.rcode.REFUSED)
        elif cut:
            proof = self.rrset(cut, "DS") if "DS" in self.nodes[cut] else self.nsec(cut)
            message.authority += [self.rrset(cut, "NS"), proof]
        elif name in self.nodes:
            self._fill_node(message, name, name, rdtype)
        elif any(node.is_subdomain(name) for node in self.nodes):
            message.authority += [self.rrset(self.apex, "SOA"), self.cover(name)]
        else:
            self._fill_missing(message, name, rdtype)

    def _fill_node(self, message, node, name, rdtype):
        kind = dns.rdatatype.to_text(rdtype)
        if kind == "NSEC" and node == name:
            message.answer.append(self.nsec(node))
        elif kind in self.nodes[node] or "CNAME" in self.nodes[node]:
            kind = kind if kind in self.nodes[node] else "CNAME"
            message.answer.append(self.rrset(name, kind))
        else:
            message.authority += [self.rrset(self.apex, "SOA"), self.cover(node)]

    def _fill_missing(self, message, name, rdtype):
        closest = name.parent()
        while not any(node.is_subdomain(closest) for node in self.nodes):
            closest = closest.parent()
        wild = dns.name.from_text("*", closest)
        if wild in self.nodes:
            self._fill_node(message, wild, name, rdtype)
        else:
            message.set_rcode(dns.rcode.NXDOMAIN)
            message.authority += [self.rrset(self.apex, "SOA"), self.cover(wild)]
        cover = self.cover(name)
        if cover not in message.authority:
            message.authority.append(cover)
