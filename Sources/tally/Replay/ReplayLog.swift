import Foundation
import JSON

/// The file that gets one line of JSON per accepted post, at once, so that it is right whenever the replay stops.
struct ReplayLog {
    private let handle: FileHandle

    /// Empties the file or makes it.
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
