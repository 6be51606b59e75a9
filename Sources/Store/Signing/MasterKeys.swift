package import Cryptography

/// The master key, and others while it is being replaced.
///
/// The current one seals and signs. What any of them sealed or signed is believed.
package struct MasterKeys: Sendable {
    package let current: SymmetricKey
    package let others: [SymmetricKey]

    package init(_ current: SymmetricKey, others: [SymmetricKey] = []) {
        self.current = current
        self.others = others
    }

    func seal(_ bytes: [UInt8], authenticating context: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try AESGCM.seal(bytes, key: current, authenticating: context)
    }

    /// - Throws: `authenticationFailed` if it was sealed with none of them, or for another context.
    func open(_ sealed: [UInt8], authenticating context: [UInt8]) throws(CryptographyError) -> [UInt8] {
        var remaining = others[...]
        var key = current
        while true {
            do throws(CryptographyError) {
                return try AESGCM.open(sealed, key: key, authenticating: context)
            } catch {
                guard error.code == .authenticationFailed, let next = remaining.popFirst() else { throw error }
                key = next
            }
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
        // Why it does not open is of no interest: the caller then tries the other keys, and hears of that.
        (try? open(sealed, authenticating: context)) != nil
    }

    /// Tells the keys apart, and nothing else of them.
    package var fingerprints: [String] {
        // None if the library fails. Then they cannot be compared, and all else works.
        let derived = (try? derived(for: "tally fingerprint of the master key")) ?? []
        return derived.map { Base64.encode(Array($0.prefix(6))) }
    }

    /// Keys for one use, each derived from a master key (HKDF): the current one's first.
    package func derived(for use: String) throws(CryptographyError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        for key in [current] + others {
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
