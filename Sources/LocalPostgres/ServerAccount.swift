import Foundation
import Glibc

/// The account that the server runs as. It is the current user; if that is root, which PostgreSQL refuses, an
/// unprivileged user.
struct ServerAccount: Sendable, Hashable {
    let uid: uid_t
    let gid: gid_t
    /// The start of a command line that switches to this user.
    private let prefix: [String]
    private let hasParentDeathSignal: Bool

    /// Finds the account.
    static func find() throws(LocalPostgresError) -> ServerAccount {
        let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].first(where: FileManager.default.isExecutableFile)
        guard geteuid() == 0 else {
            return ServerAccount(
                uid: geteuid(),
                gid: getegid(),
                prefix: setpriv.map { [$0] } ?? [],
                hasParentDeathSignal: setpriv != nil
            )
        }
        guard let entry = getpwnam("postgres") ?? getpwnam("nobody") else {
            throw LocalPostgresError(
                .notInstalled,
                "PostgreSQL does not run as root, and there is neither a user postgres nor nobody"
            )
        }
        let (uid, gid) = (entry.pointee.pw_uid, entry.pointee.pw_gid)
        if let setpriv {
            let prefix = [setpriv, "--reuid=\(uid)", "--regid=\(gid)", "--clear-groups"]
            return ServerAccount(uid: uid, gid: gid, prefix: prefix, hasParentDeathSignal: true)
        }
        let name = String(cString: entry.pointee.pw_name)
        guard let runuser = ["/usr/sbin/runuser", "/sbin/runuser"].first(where: FileManager.default.isExecutableFile)
        else {
            throw LocalPostgresError(
                .notInstalled,
                "neither setpriv nor runuser is there to start PostgreSQL as \(name) (apt-get install util-linux)"
            )
        }
        return ServerAccount(uid: uid, gid: gid, prefix: [runuser, "-u", name, "--"], hasParentDeathSignal: false)
    }

    /// The command line that runs `arguments` as this user.
    ///
    /// The program receives `signalAtParentDeath` when the *thread* that started it ends, if the system has a tool for
    /// that. So a killed daemon leaves no server behind.
    func commandLine(_ arguments: [String], signalAtParentDeath: String? = nil) -> [String] {
        guard hasParentDeathSignal, let signalAtParentDeath else {
            // setpriv without options has no effect, so it is omitted.
            return prefix.count > 1 ? prefix + arguments : arguments
        }
        return prefix + ["--pdeathsig", signalAtParentDeath] + arguments
    }

    /// Makes the account the owner of a file or folder.
    func own(_ path: String) throws(LocalPostgresError) {
        guard geteuid() == 0, chown(path, uid, gid) != 0 else { return }
        throw LocalPostgresError(.unusableFolder, "\(path) cannot be given to user \(uid)")
    }
}
