"""The package that holds the mutants: the engine with its tests, and nothing else of the project."""

import os
import shutil
from pathlib import Path

#: The targets of tests that try the mutants.
TESTS = [
    "ActivityModelTests", "APNSTransportTests", "ChannelsTests", "ConsoleTests", "DeliveryTests", "DoctorTests",
    "HTTP2EngineTests", "IntakeTests", "OrchestratorTests", "OwnershipTests", "RecordTests", "RegistryTests",
    "SimulationTests", "StoreTests", "WebhooksTests",
]  # fmt: skip

#: Keeps of the project's own manifest what the tests need. Warnings are no errors: woven code has some. What imports
#: Swift sources is left out, because swift-syntax would take longer to build than all the rest.
MANIFEST = """
let leftOut: Set<String> = ["tally-import"]
extension Target.Dependency {{
    var package: String? {{
        if case .productItem(_, let package, _, _) = self {{ package }} else {{ nil }}
    }}
}}
for target in package.targets {{
    target.dependencies.removeAll {{ $0.targetName.map(leftOut.contains) ?? false }}
}}
keepOnly(tests: [{tests}])
let neededPackages = Set(package.targets.flatMap {{ $0.dependencies.compactMap(\\.package) }})
package.dependencies.removeAll {{ dependency in
    if case .sourceControl(_, let location, _) = dependency.kind {{
        return !neededPackages.contains {{ location.hasSuffix("/\\($0)") }}
    }}
    return true
}}
"""


def prepare(folder, root, files):
    """Makes the package in `folder`, or brings it up to date: what has not changed keeps its time."""
    folder.mkdir(parents=True, exist_ok=True)
    changed_modules = {Path(file).parts[1] for file in files}
    for name in ["Plugins", "Tests", "schema", "docs"]:
        link(folder / name, root / name)
    for module in sorted(path.name for path in (root / "Sources").iterdir()):
        target = folder / "Sources" / module
        if module in changed_modules:
            mirror(target, root / "Sources" / module, module, files)
        else:
            link(target, root / "Sources" / module)
    manifest = (root / "Package.swift").read_text().replace(".treatAllWarnings(as: .error),", "")
    write(folder / "Package.swift", manifest + MANIFEST.format(tests=", ".join(f'"{name}"' for name in TESTS)))


def link(path, to):
    if path.is_symlink() and path.readlink() == to:
        return
    remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)


def mirror(folder, source, module, files):
    if folder.is_symlink():
        folder.unlink()
    wanted = set()
    for path in source.rglob("*"):
        if path.is_file():
            name = path.relative_to(source)
            wanted.add(name)
            text = files.get(f"Sources/{module}/{name}")
            write(folder / name, path.read_text() if text is None else text)
    switch = Path("MutantSwitch.swift")
    wanted.add(switch)
    write(folder / switch, files[f"Sources/{module}/{switch}"])
    for path in [*folder.rglob("*")]:
        if path.is_file() and path.relative_to(folder) not in wanted:
            path.unlink()


def write(path, text):
    if not path.is_symlink() and path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def remove(path):
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def environment(**more):
    """That of the programs which are run here."""
    return {**os.environ, **more}
