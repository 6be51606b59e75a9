import Foundation
import Glibc

/// The folder of one cluster: `data`, the server's log, and a lock that its one user holds.
struct ClusterFolder: Sendable {
    /// Where the folder really is.
    let path: String
    /// Where the socket is: a short path, because a socket's address holds 107 bytes.
    let socketFolder: String

    var data: String { path + "/data" }
    var log: String { path + "/server.log" }
    var lock: String { path + "/lock" }

    /// Makes the folder, or another one under `/var/tmp` where the server's account cannot enter the wanted one.
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
        // It was made a moment ago and is empty.
        if isNew { rmdir(wanted) }
        let other = "/var/tmp/" + name
        try makePrivateFolder(other, for: account)
        return ClusterFolder(path: other, socketFolder: socketFolder)
    }

    /// Makes a folder in a place where everybody may write, and refuses one that somebody else has put there.
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

    /// Asks by trying, as that user: rights of all folders above, mounts and access lists have their say.
    private static func canUse(_ path: String, _ account: ServerAccount) async -> Bool {
        let command = account.commandLine(["/usr/bin/test", "-w", path, "-a", "-x", path])
        // Whatever goes wrong, the answer is no.
        return (try? await ServerProgram.run(command, log: "/dev/null", timeout: .seconds(10))) == 0
    }

    /// FNV-1a, 64 bits, in hex: tells paths apart; nothing depends on its strength.
    private static func hash(_ text: String) -> String {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(value, radix: 16)
    }
}

/// A lock on a file that ends with the process that holds it, however that ends.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// Takes the lock, or says that somebody else has it.
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
