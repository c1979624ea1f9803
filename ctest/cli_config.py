"""cli.config: every variable of config.def, with its value and where it came from."""

import json
import os
import re

from cli_common import TOP, check, clean_env, finish, oriel


def defined():
    """The variables, as config.def has them."""
    with open(os.path.join(TOP, "core", "config.def"), encoding="utf-8") as file:
        return ["ORIEL_" + name.upper()
                for name in re.findall(r"^ORIEL_CONF\((\w+),", file.read(), re.M)]


def main():
    names = defined()
    check(len(names) > 5, "config.def can be read", names)
    done = oriel("config")
    check(done.code == 0 and not done.err, "the list is shown", done)
    check(re.findall(r"^(ORIEL_\w+)", done.out, re.M) == names,
          "every variable is listed, in order", done)
    check("ORIEL_TIMEOUT_S = 60   (default)" in done.out, "a default is shown", done)
    check("ORIEL_STATS   (not set)" in done.out, "so is one that is not set", done)

    env = clean_env(ORIEL_TIMEOUT_S="7.5", ORIEL_STATS="", ORIEL_TIMEOUT="1")
    done = oriel("config", env=env)
    check("ORIEL_TIMEOUT_S = 7.5   (from the environment; default: 60)" in done.out and
          "ORIEL_STATS   (not set)" in done.out,
          "a value of the environment is told apart; an empty one is none", done)
    check("unknown variable ORIEL_TIMEOUT (did you mean ORIEL_TIMEOUT_S?)" in done.err,
          "an unknown variable is warned of", done)
    one = oriel("config", "timeout_s", env=env)
    check(one.out.count("ORIEL_") == 1 and "7.5" in one.out, "a name limits it", one)

    rows = json.loads(oriel("config", "--json", env=env).out)["variables"]
    check([r["variable"] for r in rows] == names, "JSON has them all", rows)
    row = next(r for r in rows if r["variable"] == "ORIEL_TIMEOUT_S")
    check(row["value"] == "7.5" and row["source"] == "environment" and row["valid"] and
          row["default"] == "60" and row["unit"] == "s" and row["meaning"],
          "JSON says all of a variable", row)
    check(all(r["valid"] for r in rows), "good values are valid", rows)

    for variable, value in [("ORIEL_TIMEOUT_S", "12x"), ("ORIEL_WINDOWS", "some"),
                            ("ORIEL_ENGINES", "warp"), ("ORIEL_LOG", "loud\"\\\t")]:
        env = clean_env(**{variable: value})
        done = oriel("config", env=env)
        check(done.code == 1 and "NOT UNDERSTOOD" in done.out,
              f"{variable}={value} is marked", done)
        done = oriel("config", "--json", env=env)
        bad = [r for r in json.loads(done.out)["variables"] if not r["valid"]]
        check(done.code == 1 and [r["variable"] for r in bad] == [variable] and
              bad[0]["value"] == value and bad[0]["fault"],
              f"{variable}={value} is marked in JSON", done)

    table = oriel("config", "--markdown", env=clean_env(ORIEL_LOG="debug"))
    lines = table.out.splitlines()
    check(table.code == 0 and [re.search(r"`(\w+)`", row).group(1)
                               for row in lines[2:]] == names,
          "the table has all", table)
    check(all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in lines),
          "the table has three columns in every row", table)
    check("`warn`" in next(r for r in lines if "ORIEL_LOG" in r),
          "the table shows defaults, not values", table)
    finish()


main()
