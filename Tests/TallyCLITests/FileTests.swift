import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import Testing

@testable import tally

@Suite("Files that a command line names")
struct FileTests {
    private static let folder = FileManager.default.temporaryDirectory

    @Test("A pipe is read to its end, as a shell's <(…) needs it")
    func pipe() throws {
        let path = Self.folder.path + "/tally-pipe-\(UUID().uuidString)"
        try #require(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }  // a leftover in the temporary folder does no harm
        let writer = Process()
        writer.executableURL = URL(filePath: "/bin/sh")
        writer.arguments = ["-c", "{ printf '{\"score\": '; printf '1}'; } > \"$1\"", "sh", path]
        try writer.run()
        #expect(try Files.readJSON(path) == ["score": 1])
        writer.waitUntilExit()
    }

    @Test("A file that is not there, and a folder, are told in plain words")
    func unreadable() throws {
        let path = Self.folder.path + "/tally-none-\(UUID().uuidString)"
        #expect(throws: UsageError("no such file: \(path)")) { try Files.read(path) }
        #expect(throws: UsageError("no such file: \(path)")) { _ = try LineFile(path: path) }
        #expect(throws: UsageError("\(Self.folder.path) cannot be read: Is a directory")) {
            try Files.read(Self.folder.path)
        }
    }

    @Test("An edit that comes to nothing is kept where the person finds it; without an edit there is nothing to keep")
    func keptEdit() throws {
        let stored: JSONValue = ["stale_after_seconds": 60]
        let broken = try EditedDocument(stored)
        defer { broken.discard() }
        let error = try #require(throws: EditError.self) { try broken.edited(by: "printf '{,}' >") }
        #expect(error.message.hasPrefix("\(broken.path) is not valid JSON"))
        #expect(broken.isChanged)
        #expect(try Files.readText(broken.path) == "{,}")
        let report = try #require(ErrorReport(error))
        #expect(report.exitCode == .failure)

        let untouched = try EditedDocument(stored)
        defer { untouched.discard() }
        #expect(try untouched.edited(by: "true") == stored)
        #expect(!untouched.isChanged)
        #expect(throws: EditError.self) { try untouched.edited(by: "false") }
    }

    @Test("The editor is $VISUAL, else $EDITOR, else vi")
    func editor() {
        #expect(EditedDocument.editor(["VISUAL": "code -w", "EDITOR": "nano"]) == "code -w")
        #expect(EditedDocument.editor(["EDITOR": "nano"]) == "nano")
        #expect(EditedDocument.editor([:]) == "vi")
    }
}

@Suite("What does not fit a terminal")
struct NarrowTests {
    @Test("A long name is shortened and costs no other column; without a width it stays whole")
    func longName() throws {
        let name = String(repeating: "n", count: 128)
        let key = APIKeyResource(
            id: "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11",
            name: name,
            scopes: [.read],
            createdAt: Instant(unixSeconds: 1_671_375_600)
        )
        let table = Page(items: [key]).table
        let lines = table.text(width: 80).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(lines.last?.hasPrefix("nnnn") == true && lines.last?.contains("n…  read    active") == true)
        #expect(table.text(width: 60).contains(String(repeating: "n", count: 11) + "…"))
        #expect(table.text(width: nil).contains(name))
    }

    @Test("The status of more activities than are counted says so at each number, and what that means")
    func manyActivities() {
        var report = StatusReport(url: "http://o", warnings: [])
        let none = Page<ScheduleResource>(items: [])
        let app = BundleID(stored: "com.example.app")
        report.add(app, live: Page(items: [], nextCursor: "more"), halts: [], failed: none)
        #expect(report.text.contains(/0\+ +0\+ +0\+/))
        #expect(report.text.hasSuffix("only the newest 100 are counted of com.example.app."))
        var small = StatusReport(url: "http://o", warnings: [])
        small.add(app, live: Page(items: []), halts: [], failed: none)
        #expect(!small.text.contains("+"))
    }
}
