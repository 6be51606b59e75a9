import Foundation

extension LocalCluster {
    /// Removes clusters for one-time use that killed processes have left behind, with all their data.
    ///
    /// - Parameters:
    ///   - parent: the folder that holds the clusters' folders.
    ///   - prefix: of the names of those that may be removed.
    package static func removeAbandoned(in parent: String, prefix: String) async {
        // Best effort by nature: what cannot be removed now is left for the next time.
        guard let account = try? ServerAccount.find() else { return }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            // A folder without a lock is being made at this moment, or is none of ours.
            guard FileManager.default.fileExists(atPath: path + "/lock"), let lock = FileLock(path + "/lock") else {
                continue
            }
            guard let folder = try? await ClusterFolder.prepare(path, for: account) else { continue }
            try? await ServerRemains(data: folder.data).stopServer(until: .now + .seconds(10))
            folder.remove()
            withExtendedLifetime(lock) {}
        }
    }

    /// Removes the data of a cluster that has been stopped.
    package func removeData() {
        guard processID == nil else { return }
        folder.remove()
    }
}

extension ClusterFolder {
    /// Removes the folder and that of the socket.
    func remove() {
        // What does not go is found by the next clean-up.
        try? FileManager.default.removeItem(atPath: path)
        try? FileManager.default.removeItem(atPath: socketFolder)
    }
}
