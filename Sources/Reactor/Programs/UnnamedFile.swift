import CLinux
import Glibc

/// A file in memory without a name. It disappears with this object. It needs no writable folder, which daemons often
/// lack.
final class UnnamedFile {
    /// Valid as long as this lives.
    let descriptor: Int32

    /// Creates a file with this content, with the position at the beginning.
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

    /// The whole content.
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
