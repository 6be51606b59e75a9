package import Cryptography

/// The master key, and the one before it while it is being replaced.
///
/// What is sealed is sealed with the current one; what was sealed or signed with the previous one is still believed.
package struct MasterKeys: Sendable {
    package let current: SymmetricKey
    package let previous: SymmetricKey?

    package init(_ current: SymmetricKey, previous: SymmetricKey? = nil) {
        self.current = current
        self.previous = previous
    }

    func seal(_ bytes: [UInt8], authenticating context: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try AESGCM.seal(bytes, key: current, authenticating: context)
    }

    /// - Throws: `authenticationFailed` if it was sealed with neither, or for another context.
    func open(_ sealed: [UInt8], authenticating context: [UInt8]) throws(CryptographyError) -> [UInt8] {
        do throws(CryptographyError) {
            return try AESGCM.open(sealed, key: current, authenticating: context)
        } catch {
            guard error.code == .authenticationFailed, let previous else { throw error }
            return try AESGCM.open(sealed, key: previous, authenticating: context)
        }
    }

    /// The same secret under the current key; nil if that is the one it is sealed with.
    ///
    /// - Throws: As ``open(_:authenticating:)``.
    func resealed(_ sealed: [UInt8], authenticating context: [UInt8]) throws(CryptographyError) -> [UInt8]? {
        if MasterKeys(current).opens(sealed, authenticating: context) { return nil }
        return try seal(try open(sealed, authenticating: context), authenticating: context)
    }

    private func opens(_ sealed: [UInt8], authenticating context: [UInt8]) -> Bool {
        // Why it does not open is of no interest: the caller then tries the other key, and hears of that.
        (try? open(sealed, authenticating: context)) != nil
    }

    /// Keys for one use, each derived from a master key (HKDF): the current one's first.
    package func derived(for use: String) throws(CryptographyError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        for key in [current, previous].compactMap({ $0 }) {
            keys.append(
                try HKDFSHA256.derive(
                    from: key.secretBytes(),
                    info: Array(use.utf8),
                    count: SymmetricKey.byteCount
                )
            )
        }
        return keys
    }
}
