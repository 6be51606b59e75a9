import Glibc

/// A file without a name, which is gone when this is.
@safe
final class UnnamedFile {
    private let stream: UnsafeMutablePointer<FILE>

    /// Makes one with this content, to be read from its beginning.
    ///
    /// - Throws: ``ReactorError/Code/system``.
    init(_ content: [UInt8]) throws(ReactorError) {
        guard let stream = unsafe tmpfile() else { throw ReactorError(operation: "tmpfile", errno: errno) }
        unsafe self.stream = unsafe stream
        let written = unsafe fwrite(content, 1, content.count, stream)
        guard written == content.count, unsafe fflush(stream) == 0 else {
            throw ReactorError(operation: "write", errno: errno)
        }
        guard unsafe lseek(fileno(stream), 0, SEEK_SET) == 0 else {
            throw ReactorError(operation: "lseek", errno: errno)
        }
    }

    /// Valid as long as this lives.
    var descriptor: Int32 { unsafe fileno(stream) }

    /// All that is in it.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while case let count = unsafe pread(descriptor, &part, part.count, bytes.count), count > 0 {
            bytes += part[..<count]
        }
        return bytes
    }

    deinit { unsafe fclose(stream) }
}
