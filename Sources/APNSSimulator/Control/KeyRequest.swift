package import APITypes
package import ActivityModel
import Cryptography
import JSON

/// `POST /keys`: a signing key that Apple knows from now on.
package struct KeyRequest: Sendable {
    package var teamID: TeamID
    package var keyID: KeyID
    /// The public or the private key in PEM. Of a private one only the public half is kept.
    package var pem: String
    /// The only environment that the key is for; nil: both.
    package var environment: APNSEnvironment?
    /// The bundle ids that the key may speak for; nil: all of the team.
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

    /// - Throws: 422 if the text holds no P-256 key.
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

/// `PUT /tally`: where apps report to.
package struct TallyRequest: Sendable, Hashable {
    package var url: String
    /// An API key with the scope `register`.
    package var key: String
    /// The only app that reports there; nil: all that have no address of their own.
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
