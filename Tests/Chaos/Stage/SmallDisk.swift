import Foundation
import Glibc
import SystemSupport
import TestSupport

/// A file system of a few megabytes in memory, which can be filled up.
struct SmallDisk: Sendable {
    private let folder: PrivateFolder

    /// Why there can be none; nil: there can.
    static var obstacle: String? { geteuid() == 0 ? nil : "only root can mount a small disk" }

    /// Lends one.
    static func with<R>(megabytes: Int, _ body: (SmallDisk) async throws -> R) async throws -> R {
        let folder = try PrivateFolder()
        let disk = SmallDisk(folder: folder)
        let mounted = try await Program("mount").run(
            ["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=755", "tmpfs", folder.url.path]
        )
        guard mounted.status == 0 else { throw Failure("mount: \(mounted.text)") }
        let duty = LastDuties.add { disk.remove() }
        defer {
            LastDuties.remove(duty)
            disk.remove()
        }
        return try await body(disk)
    }

    func path(_ name: String) -> String { folder.path(name) }

    /// Takes all the room that is left.
    func fill() throws {
        let descriptor = open(path("ballast"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("the ballast cannot be made: errno \(errno)") }
        defer { close(descriptor) }
        let part = [UInt8](repeating: 0, count: 64 * 1024)
        while write(descriptor, part, part.count) > 0 {}
        guard errno == ENOSPC else { throw Failure("the disk cannot be filled: errno \(errno)") }
    }

    /// Gives the room back.
    func clear() { unlink(path("ballast")) }

    private func remove() {
        umount2(folder.url.path, Int32(MNT_DETACH))
        folder.remove()
    }
}
