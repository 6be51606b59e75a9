import Foundation
import Glibc

/// The folder of one cluster: `data`, the server's log, and a lock file that prevents use by two processes.
struct ClusterFolder: Sendable {
    /// The real path of the folder.
    let path: String
    /// The folder of the socket. Its path is short, because a socket's address has at most 107 bytes.
    let socketFolder: String

    var data: String { path + "/data" }
    var log: String { path + "/server.log" }
    var lock: String { path + "/lock" }

    /// Creates the folder. If the server's account cannot enter it, it uses another one under `/var/tmp`.
    static func prepare(_ wanted: String, for account: ServerAccount) async throws(LocalPostgresError) -> ClusterFolder
    {
        let wanted = URL(fileURLWithPath: wanted).standardizedFileURL.path
        let name = "tally-" + hash(wanted)
        let socketFolder = "/tmp/" + name
        let isNew = !FileManager.default.fileExists(atPath: wanted)
        try makeFolders(wanted)
        try account.own(wanted)
        if await canUse(wanted, account) {
            try restrict(wanted, for: account)
            return ClusterFolder(path: wanted, socketFolder: socketFolder)
        }
        // It is new and empty.
        if isNew { rmdir(wanted) }
        let other = "/var/tmp/" + name
        try makePrivateFolder(other, for: account)
        return ClusterFolder(path: other, socketFolder: socketFolder)
    }

    /// Creates a folder in a directory that everybody may write to. Refuses a folder that another user has put there.
    static func makePrivateFolder(_ path: String, for account: ServerAccount) throws(LocalPostgresError) {
        let isNew = mkdir(path, 0o700) == 0
        guard isNew || errno == EEXIST else {
            throw LocalPostgresError(.unusableFolder, "\(path) cannot be made")
        }
        if isNew { try account.own(path) }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == account.uid,
            status.st_mode & 0o077 == 0
        else {
            throw LocalPostgresError(.unusableFolder, "\(path) is there already and belongs to somebody else")
        }
    }

    private static func makeFolders(_ path: String) throws(LocalPostgresError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw LocalPostgresError(.unusableFolder, "\(path) cannot be made")
        }
    }

    private static func restrict(_ path: String, for account: ServerAccount) throws(LocalPostgresError) {
        guard chmod(path, 0o700) == 0 else {
            throw LocalPostgresError(.unusableFolder, "the rights of \(path) cannot be changed")
        }
    }

    /// Tries access as that user, because the rights of parent folders, mounts and access lists all matter.
    private static func canUse(_ path: String, _ account: ServerAccount) async -> Bool {
        let command = account.commandLine(["/usr/bin/test", "-w", path, "-a", "-x", path])
        // Any failure means no.
        return (try? await ServerProgram.run(command, log: "/dev/null", timeout: .seconds(10))) == 0
    }

    /// FNV-1a, 64 bits, in hex. It only distinguishes paths; security does not depend on it.
    private static func hash(_ text: String) -> String {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(value, radix: 16)
    }
}

/// A lock on a file. It ends with its process, however that ends.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock; `nil` if another process has it.
    init?(_ path: String) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
