package import APITypes
package import ActivityModel
import Cryptography
import JSON

/// `POST /keys`: a signing key to register at the simulated Apple.
package struct KeyRequest: Sendable {
    package var teamID: TeamID
    package var keyID: KeyID
    /// The public or the private key in PEM. Only the public key is stored.
    package var pem: String
    /// The only environment of the key; nil: both.
    package var environment: APNSEnvironment?
    /// The bundle ids that the key may be used for; nil: all of the team.
    package var bundleIDs: [BundleID]?

    /// - Throws: 422 if the text contains no P-256 key.
    func publicKey() throws(Problem) -> P256PublicKey {
        do {
            if pem.contains("PRIVATE KEY") { return try P256PrivateKey(pem: pem).publicKey }
            return try P256PublicKey(pem: pem)
        } catch {
            throw .invalidRequest(at: ["key"], "a P-256 key in PEM is expected")
        }
    }

    var scope: KeyScope {
        KeyScope(
            teamID: teamID.rawValue,
            environment: environment?.rawValue,
            bundleIDs: bundleIDs.map { Set($0.map(\.rawValue)) }
        )
    }
}

extension KeyRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("team_id", \.teamID, .teamID),
        .required("key_id", \.keyID, .keyID),
        .required("key", \.pem, .string),
        .optional("environment", \.environment, .word(APNSEnvironment.self)),
        .optional("bundle_ids", \.bundleIDs, .list(of: .bundleID)),
        make: Self.init
    )
}

/// `PUT /tally`: the Tally that apps report to.
package struct TallyRequest: Sendable, Hashable {
    package var url: String
    /// An API key with the scope `register`.
    package var key: String
    /// The only app that reports there; nil: all apps without their own address.
    package var bundleID: BundleID?

    package init(url: String, key: String, bundleID: BundleID? = nil) {
        self.url = url
        self.key = key
        self.bundleID = bundleID
    }
}

extension TallyRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("url", \.url, .string),
        .required("key", \.key, .string),
        .optional("bundle_id", \.bundleID, .bundleID),
        make: Self.init
    )
}
