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

    package init(
        teamID: TeamID,
        keyID: KeyID,
        pem: String,
        environment: APNSEnvironment? = nil,
        bundleIDs: [BundleID]? = nil
    ) {
        self.teamID = teamID
        self.keyID = keyID
        self.pem = pem
        self.environment = environment
        self.bundleIDs = bundleIDs
    }

    /// - Throws: 422 if the text contains no P-256 key.
    func publicKey() throws(Problem) -> P256PublicKey {
        do {
            if pem.contains("PRIVATE KEY") { return try P256PrivateKey(pem: pem).publicKey }
            return try P256PublicKey(pem: pem)
        } catch {
            throw .invalidRequest(
                pointer: JSONPointer().appending("key"),
                code: FieldError.invalidValue,
                message: "a P-256 key in PEM is expected"
            )
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

extension KeyRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ Self(teamID: $0, keyID: $1, pem: $2) }) {
        required("team_id", .teamID, \.teamID)
        required("key_id", .keyID, \.keyID)
        required("key", .string, \.pem)
        optional("environment", .word(APNSEnvironment.self), \.environment)
        optional("bundle_ids", .list(of: .bundleID), \.bundleIDs)
    }
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

extension TallyRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ Self(url: $0, key: $1) }) {
        required("url", .string, \.url)
        required("key", .string, \.key)
        optional("bundle_id", .bundleID, \.bundleID)
    }
}
