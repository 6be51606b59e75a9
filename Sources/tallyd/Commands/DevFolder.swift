import Foundation

/// The private folder with the state of `tallyd dev`.
struct DevFolder: Sendable {
    /// The files in the folder, besides the cluster.
    enum File: String, Sendable {
        case environment = "dev.env"
        case apiKey = "api-key"
        case masterKey = "master-key"
        case phonesKey = "phones-key"
    }

    private let folder: URL

    /// Creates the folder if it does not exist.
    init(_ path: String) throws {
        folder = URL(filePath: path)
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            // For root, Postgres runs as another user, who needs access to its subfolder.
            attributes: [.posixPermissions: geteuid() == 0 ? 0o711 : 0o700]
        )
    }

    /// The path of a file or subfolder.
    func path(_ name: String) -> String {
        folder.appending(path: name).path(percentEncoded: false)
    }

    /// The content of a file; nil if it does not exist.
    func kept(_ file: File) -> String? {
        FileManager.default.contents(atPath: path(file.rawValue)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The secret in a file. The first call creates it.
    func secret(_ file: File, making make: () -> String) throws -> String {
        if let kept = kept(file) { return kept }
        let secret = make()
        try write(file, secret)
        return secret
    }

    /// Writes a file that only its owner can read. The file appears with its complete content.
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
