import Foundation
import JSON
import Testing

/// The list of dependencies is what was resolved, and what was linked.
@Suite("The list of dependencies")
struct DependencyTests {
    private struct Row {
        let name: String
        let version: [Int]
        let programs: Set<String>
        let licence: String

        init?(_ cells: [String]) {
            guard cells.count == 5, cells[0].hasPrefix("`") else { return nil }
            name = cells[0].trimmingCharacters(in: ["`"])
            version = cells[1].split(separator: ".").compactMap { Int($0) }
            programs = Set(cells[2].split(separator: " ").map { $0.trimmingCharacters(in: ["`"]) }).subtracting(["-"])
            licence = cells[3]
        }
    }

    private static let rows: [Row] = {
        // A list that cannot be read has no rows, which the tests say.
        ((try? Document(path: "docs/internals/dependencies.md").tableRows()) ?? []).compactMap(Row.init)
    }()

    /// The folder of this build.
    private static let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()
    private static let checkouts = build.deletingLastPathComponent().deletingLastPathComponent().appending(
        path: "checkouts"
    )

    /// What the package manager has chosen, by name.
    private static func resolved() throws -> [String: [Int]] {
        let pins = try JSONValue(parsing: Document(path: "Package.resolved").text())["pins"]?.array ?? []
        return Dictionary(
            pins.map { pin in
                let version = pin["state"]?["version"]?.string ?? ""
                return (pin["identity"]?.string ?? "", version.split(separator: ".").compactMap { Int($0) })
            }
        ) { first, _ in first }
    }

    @Test("it has every package that was resolved and no other, in that version or an earlier one of the same major")
    func packages() throws {
        let resolved = try Self.resolved()
        let listed = Self.rows.filter { resolved[$0.name] != nil }
        #expect(Set(listed.map(\.name)) == Set(resolved.keys))
        #expect(Self.rows.count == listed.count + 3)
        for row in listed {
            let version = try #require(resolved[row.name])
            #expect(
                row.version.first == version.first && !version.lexicographicallyPrecedes(row.version),
                "\(row.name)"
            )
        }
    }

    @Test("every package has the licence that it says")
    func licences() throws {
        for name in try Self.resolved().keys {
            let folder = Self.checkouts.appending(path: name)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            let file = try #require(files.first { $0.uppercased().hasPrefix("LICENSE") }, "\(name)")
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            #expect(text.contains("Apache License") && text.contains("Version 2.0"), "\(name)")
            #expect(Self.rows.first { $0.name == name }?.licence == "Apache-2.0", "\(name)")
        }
    }

    @Test("each program holds what the list says, and no more", arguments: ["tallyd", "tally", "tally-import"])
    func linked(program: String) throws {
        let list = Self.build.appending(path: "\(program).product/Objects.LinkFileList")
        let modules = Set(
            try String(contentsOf: list, encoding: .utf8).matches(of: /\/([A-Za-z0-9_]+)\.build\//)
                .map { String($0.output.1) }
        )
        #expect(modules.contains("JSON"))
        var packages: Set<String> = []
        for name in try Self.resolved().keys {
            let sources = Self.checkouts.appending(path: name).appending(path: "Sources").path
            // A package without such a folder has its sources elsewhere, and none of ours is of that kind.
            let folders = (try? FileManager.default.contentsOfDirectory(atPath: sources)) ?? []
            if folders.contains(where: modules.subtracting(Self.ours).contains) { packages.insert(name) }
        }
        let resolved = try Self.resolved()
        let listed = Self.rows.filter { $0.programs.contains(program) && resolved[$0.name] != nil }.map(\.name)
        #expect(packages == Set(listed))
    }

    /// Our own modules may be named like others.
    private static let ours: Set<String> = {
        let sources = Document.root.appending(path: "Sources").path
        return Set((try? FileManager.default.contentsOfDirectory(atPath: sources)) ?? [])
    }()

    @Test("it has every library of the system that is imported")
    func libraries() throws {
        let package = try Document(path: "Package.swift").text()
        let names = package.matches(of: /\.systemLibrary\(name: "[A-Za-z0-9]+", pkgConfig: "([a-z0-9]+)"/).map {
            String($0.output.1)
        }
        #expect(names.count == 3)
        for name in names { #expect(Self.rows.contains { $0.name == name }, "\(name)") }
    }
}
