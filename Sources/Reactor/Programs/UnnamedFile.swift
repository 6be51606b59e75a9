import CLinux
import Glibc

/// A file in memory without a name, which is gone when this is. It needs no folder that can be written to, and daemons
/// often have none.
final class UnnamedFile {
    /// Valid as long as this lives.
    let descriptor: Int32

    /// Makes one with this content, to be read from its beginning.
    ///
    /// - Throws: ``ReactorError/Code/system``.
    init(_ content: [UInt8]) throws(ReactorError) {
        descriptor = CLinux_memory_file()
        guard descriptor >= 0 else { throw ReactorError(operation: "memfd_create", errno: errno) }
        var written = 0
        while written < content.count {
            let part = Array(content[written...])
            let count = unsafe write(descriptor, part, part.count)
            guard count > 0 || errno == EINTR else { throw ReactorError(operation: "write", errno: errno) }
            written += max(0, count)
        }
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw ReactorError(operation: "lseek", errno: errno) }
    }

    /// All that is in it.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while case let count = unsafe pread(descriptor, &part, part.count, bytes.count), count > 0 {
            bytes += part[..<count]
        }
        return bytes
    }

    deinit { close(descriptor) }
}
