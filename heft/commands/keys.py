"""`heft keys`: who may reach this user's sessions from other hosts, and which hosts he trusts. See docs/keys.md."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from heft.daq.bus.keyring import Keyring, Role
from heft.exit_codes import ExitCode

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = _action(actions, "new", "make a key of your own, once on every host")
    new.add_argument("--replace", action="store_true", help="make another one; the old one is gone")
    _action(actions, "show", "print your public key, for others to allow or to trust")
    allow = _action(actions, "allow", "let somebody reach sessions of yours, by name")
    allow.add_argument("name", help="up to 40 letters, digits, - and _")
    allow.add_argument("key", metavar="KEY", help="as `heft keys show` prints it there; in quotes")
    allow.add_argument(
        "--may",
        type=_roles,
        default=(Role.OBSERVE,),
        metavar="ROLES",
        help="some of observe (telemetry and recording), stop, control (setpoints), as observe,stop (default: observe)",
    )
    revoke = _action(actions, "revoke", "let somebody in no more")
    revoke.add_argument("name")
    trust = _action(actions, "trust", "tell by which key the sessions of another host are known")
    trust.add_argument("host", help="HOST or HOST:PORT, as in its endpoint")
    trust.add_argument("key", metavar="KEY", help="as `heft keys show` prints it there; in quotes")
    _action(actions, "list", "who is allowed what, and which hosts are trusted")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do it, and say what has been done."""
    keyring = Keyring.of_user()
    lines, report = _do(keyring, arguments)
    out = sys.stderr if arguments.json else sys.stdout
    out.write("".join(f"{line}\n" for line in lines))
    if arguments.json:
        sys.stdout.write(json.dumps(report) + "\n")
    return ExitCode.DONE


def _do(keyring: Keyring, arguments: argparse.Namespace) -> tuple[Sequence[str], Mapping[str, Any]]:
    match arguments.action:
        case "new":
            public = keyring.new(replace=arguments.replace).public
            return [public], {"public": public, "folder": str(keyring.folder)}
        case "show":
            public = keyring.own().public
            return [public], {"public": public, "folder": str(keyring.folder)}
        case "allow":
            peer = keyring.allow(arguments.name, arguments.key, arguments.may)
            may = sorted(peer.roles)
            return [f"{peer.name} may {', '.join(may)}"], {"name": peer.name, "may": may}
        case "revoke":
            name = keyring.revoke(arguments.name).name
            return [f"{name} may nothing; connections that exist last until the session ends"], {"name": name}
        case "trust":
            keyring.trust(arguments.host, arguments.key)
            return [f"{arguments.host} is trusted"], {"host": arguments.host}
    peers, hosts = keyring.allowed(), keyring.trusted()
    lines = [f"{peer.name:<20} {', '.join(sorted(peer.roles)):<24} {peer.public}" for peer in peers]
    lines += [f"{host:<20} {'trusted':<24} {key}" for host, key in hosts.items()]
    allowed = {peer.name: {"key": peer.public, "may": sorted(peer.roles)} for peer in peers}
    return lines or ["nobody is allowed, no host is trusted"], {"allowed": allowed, "hosts": dict(hosts)}


def _action(actions: Any, name: str, purpose: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=purpose, description=purpose)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    return parser


def _roles(text: str) -> tuple[Role, ...]:
    known = ", ".join(Role)
    try:
        return tuple(Role(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} are no roles; give some of {known}") from None
