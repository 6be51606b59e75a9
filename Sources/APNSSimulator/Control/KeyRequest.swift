package import APITypes
package import ActivityModel
import Cryptography
package import JSON

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

extension KeyRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let teamID = reader.required("team_id", .teamID)
        let keyID = reader.required("key_id", .keyID)
        let pem = reader.required("key", .string)
        let environment = reader.optional("environment", .word(APNSEnvironment.self))
        let bundleIDs = reader.optional("bundle_ids", .list(of: .bundleID))
        guard reader.finish(), let teamID, let keyID, let pem else { return nil }
        self.init(teamID: teamID, keyID: keyID, pem: pem, environment: environment, bundleIDs: bundleIDs)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("team_id", teamID.rawValue)
        fields.add("key_id", keyID.rawValue)
        fields.add("key", pem)
        fields.add("environment", environment?.rawValue)
        fields.add("bundle_ids", words: bundleIDs?.map(\.rawValue))
        return fields.json
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

extension TallyRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let url = reader.required("url", .string)
        let key = reader.required("key", .string)
        let bundleID = reader.optional("bundle_id", .bundleID)
        guard reader.finish(), let url, let key else { return nil }
        self.init(url: url, key: key, bundleID: bundleID)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("url", url)
        fields.add("key", key)
        fields.add("bundle_id", bundleID?.rawValue)
        return fields.json
    }
}
