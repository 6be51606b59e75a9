import Foundation

@testable package import LocalPostgres

extension LocalCluster {
    /// Removes one-time clusters that killed processes have left behind, with all their data.
    ///
    /// - Parameters:
    ///   - parent: The folder that contains the clusters' folders.
    ///   - prefix: Only folders with this name prefix are removed.
    package static func removeAbandoned(in parent: String, prefix: String) async {
        // This is best effort: the next call retries what cannot be removed now.
        guard let account = try? ServerAccount.find() else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            // A folder without a lock is still being created, or does not belong to Tally.
            guard FileManager.default.fileExists(atPath: path + "/lock"), let lock = FileLock(path + "/lock") else {
                continue
            }
            guard let folder = try? await ClusterFolder.prepare(path, for: account) else { continue }
            try? await ServerRemains(data: folder.data).stopServer(until: .now + .seconds(10))
            folder.remove()
            withExtendedLifetime(lock) {}
        }
    }

    /// Removes the data of a stopped cluster.
    package func removeData() {
        guard processID == nil else { return }
        folder.remove()
    }
}

extension ClusterFolder {
    /// Removes the folder and the folder of the socket.
    func remove() {
        // The next clean-up retries what remains.
        try? FileManager.default.removeItem(atPath: path)
        try? FileManager.default.removeItem(atPath: socketFolder)
    }
}
