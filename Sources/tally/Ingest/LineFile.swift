import Foundation

/// The lines of a file, or of the standard input as they come, without their ends.
struct LineFile: AsyncSequence, Sendable {
    /// What stands for the standard input on a command line.
    static let standardInput = "-"

    private let path: String
    private let handle: FileHandle

    /// - Throws: ``UsageError`` if the file cannot be opened.
    init(path: String) throws {
        self.path = path
        handle =
            path == Self.standardInput
            ? .standardInput : FileHandle(fileDescriptor: try Files.opened(path), closeOnDealloc: true)
    }

    func makeAsyncIterator() -> Iterator { Iterator(path: path, handle: handle) }

    struct Iterator: AsyncIteratorProtocol {
        private static let chunk = 64 << 10

        private let path: String
        private let handle: FileHandle
        /// What was read and is no part of an earlier line.
        private var bytes: ArraySlice<UInt8> = []
        private var isAtEnd = false

        fileprivate init(path: String, handle: FileHandle) {
            self.path = path
            self.handle = handle
        }

        /// The next line; nil at the end.
        mutating func next() async throws -> [UInt8]? {
            var searched = bytes.startIndex
            while true {
                if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                    let line = bytes[..<end]
                    bytes = bytes[(end + 1)...]
                    return Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
                }
                if isAtEnd {
                    defer { bytes = [] }
                    return bytes.isEmpty ? nil : Array(bytes)
                }
                let more = try await read()
                isAtEnd = more.isEmpty
                let known = bytes.count
                bytes = ArraySlice(Array(bytes) + more)
                searched = bytes.startIndex + known
            }
        }

        /// Waits for bytes on another thread, because the standard input may have none for a long time.
        private func read() async throws -> [UInt8] {
            let descriptor = handle.fileDescriptor
            let (bytes, error) = await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    var error: Int32 = 0
                    let bytes = [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, count in
                        var read = Glibc.read(descriptor, buffer.baseAddress, Self.chunk)
                        while read < 0, errno == EINTR {
                            read = Glibc.read(descriptor, buffer.baseAddress, Self.chunk)
                        }
                        if read < 0 { error = errno }
                        count = Swift.max(read, 0)
                    }
                    continuation.resume(returning: (bytes, error))
                }
            }
            guard error == 0 else { throw Files.unreadable(path, error) }
            return bytes
        }
    }
}
