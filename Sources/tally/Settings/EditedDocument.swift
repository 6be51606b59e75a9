import Foundation
import JSON

/// A JSON document in a file of its own, for a person to edit. It holds no secret.
struct EditedDocument {
    /// Where it stands. Whoever makes it discards it, or tells the person where it is.
    let path: String
    private let original: [UInt8]

    init(_ value: JSONValue) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "tally-\(UUID().uuidString).json")
        path = file.path
        original = Array((value.indentedText + "\n").utf8)
        try Data(original).write(to: file)
    }

    /// The editor that a person wants, as a command of the shell.
    static func editor(_ environment: [String: String]) -> String {
        environment["VISUAL"] ?? environment["EDITOR"] ?? "vi"
    }

    /// What the person has made of it.
    ///
    /// - Throws: ``EditError`` if the editor fails, or leaves something else than JSON.
    func edited(by editor: String) throws -> JSONValue {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "\(editor) \"$1\"", "sh", path]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw EditError("The editor '\(editor)' failed. Set EDITOR, or give --set.")
        }
        do {
            return try Files.readJSON(path)
        } catch let error as UsageError {
            throw EditError(error.message)
        }
    }

    /// Whether the file has something that a person wrote.
    var isChanged: Bool { (try? Files.read(path)).map { $0 != original } ?? false }

    func discard() {
        // It may be gone already.
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// An edit came to nothing. Nothing was sent.
struct EditError: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
