import Foundation
import JSON
import MatchReplay

/// A file with one line of JSON per accepted post. Each line is written immediately, so that the file is complete
/// whenever the replay stops.
struct ReplayLog {
    private let handle: FileHandle

    /// Creates the file, or empties it.
    init(path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw UsageError("\(path) cannot be written.") }
        self.handle = handle
    }

    func append(_ entry: ReplayPlayer.Entry) throws {
        try handle.write(contentsOf: Data(entry.json.serialized() + [UInt8(ascii: "\n")]))
    }

    func close() throws {
        try handle.close()
    }
}
