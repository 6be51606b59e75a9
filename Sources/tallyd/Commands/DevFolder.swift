import Foundation

/// The folder in which `tallyd dev` keeps its state; for its owner's eyes only.
struct DevFolder: Sendable {
    /// What lies in it, besides the cluster.
    enum File: String, Sendable {
        case environment = "dev.env"
        case apiKey = "api-key"
        case masterKey = "master-key"
        case phonesKey = "phones-key"
    }

    private let folder: URL

    /// Makes the folder if it is not there.
    init(_ path: String) throws {
        folder = URL(filePath: path)
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            // Started by root, Postgres runs as another user, who has to pass through to its own folder.
            attributes: [.posixPermissions: geteuid() == 0 ? 0o711 : 0o700]
        )
    }

    /// The path of something in the folder.
    func path(_ name: String) -> String {
        folder.appending(path: name).path(percentEncoded: false)
    }

    /// What is kept in a file; nil if it is not there.
    func kept(_ file: File) -> String? {
        FileManager.default.contents(atPath: path(file.rawValue)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The secret that is kept in a file; made the first time.
    func secret(_ file: File, making make: () -> String) throws -> String {
        if let kept = kept(file) { return kept }
        let secret = make()
        try write(file, secret)
        return secret
    }

    /// Writes a file that only its owner can read; whoever waits for it sees it whole or not at all.
    func write(_ file: File, _ text: String) throws {
        let draft = path(file.rawValue + ".new")
        guard
            FileManager.default.createFile(
                atPath: draft,
                contents: Data(text.utf8),
                attributes: [.posixPermissions: 0o600]
            )
        else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: draft]) }
        guard rename(draft, path(file.rawValue)) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }

    func remove(_ file: File) throws {
        guard FileManager.default.fileExists(atPath: path(file.rawValue)) else { return }
        try FileManager.default.removeItem(atPath: path(file.rawValue))
    }
}
