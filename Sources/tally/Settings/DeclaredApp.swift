import APITypes
import ActivityModel
import Foundation
import JSON
import SwiftContent
import SwiftImporter
import TallyClient

/// An app with its types, as the files of a folder declare them.
struct DeclaredApp {
    let id: BundleID
    /// Nil: only types are declared.
    let settings: AppRequest?
    let types: [(name: ActivityTypeName, body: JSONObject)]

    /// The apps of a folder, sorted by bundle id.
    ///
    /// - Throws: ``UsageError`` that names the file.
    static func read(_ folder: String) throws -> [DeclaredApp] {
        let names = try list(folder).filter { isFolder(folder + "/" + $0) }
        let apps = try names.compactMap { name -> DeclaredApp? in
            guard let id = BundleID(name) else {
                throw UsageError("\(folder)/\(name): the folder's name is no bundle id.")
            }
            let path = folder + "/" + name
            let types = isFolder(path + "/types") ? try list(path + "/types").filter { $0.hasSuffix(".json") } : []
            let hasSettings = FileManager.default.fileExists(atPath: path + "/app.json")
            guard hasSettings || !types.isEmpty else { return nil }
            return DeclaredApp(
                id: id,
                settings: hasSettings ? try settings(path + "/app.json") : nil,
                types: try types.compactMap { try type(path + "/types/" + $0) }
            )
        }
        guard !apps.isEmpty else { throw UsageError("\(folder) has no BUNDLE-ID/app.json and no BUNDLE-ID/types.") }
        return apps
    }

    private static func list(_ folder: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder) else { throw Files.unreadable(folder, ENOENT) }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            throw UsageError("\(folder) cannot be read: \(error.localizedDescription)")
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private static func settings(_ file: String) throws -> AppRequest {
        do {
            return try AppRequest(json: resolved(try Files.readJSON(file), beside: file))
        } catch let problem as Problem {
            throw UsageError("\(file): " + problem.errors.map { "\($0.pointer): \($0.message)" }.joined(separator: " "))
        }
    }

    /// Nil for a file that another one names, such as a policy.
    private static func type(_ file: String) throws -> (name: ActivityTypeName, body: JSONObject)? {
        let stem = URL(filePath: file).deletingPathExtension().lastPathComponent
        guard let name = ActivityTypeName(stem) else { return nil }
        guard let body = try resolved(try Files.readJSON(file), beside: file).object else {
            throw UsageError("\(file) must hold a JSON object.")
        }
        return (name, body)
    }

    /// Replaces each text `@FILE` by the file: JSON by its value, anything else by its text.
    private static func resolved(_ value: JSONValue, beside file: String) throws -> JSONValue {
        switch value {
        case .string(let text) where text.hasPrefix("@"):
            let path = URL(filePath: file).deletingLastPathComponent().appending(path: String(text.dropFirst())).path
            return path.hasSuffix(".json") ? try Files.readJSON(path) : .string(try Files.readText(path))
        case .object(let object):
            return .object(JSONObject(try object.entries.map { ($0.key, try resolved($0.value, beside: file)) }))
        default: return value
        }
    }
}

// MARK: What differs

extension DeclaredApp {
    /// The requests that are needed, in their order.
    func plan(_ client: TallyClient, force: Bool) async throws -> [PlannedChange] {
        let stored = try await unlessMissing { () async throws(ClientError) in try await client.app(id) }
        var plan: [PlannedChange] = []
        if let settings {
            let differences = stored.map { Self.differences($0, settings) } ?? []
            if stored == nil || !differences.isEmpty {
                let request = Self.withoutKnownKeys(settings, stored)
                plan.append(
                    PlannedChange(subject: "app \(id)", isNew: stored == nil, differences: differences) { client in
                        _ = try await client.putApp(id, request)
                    }
                )
            }
        } else if stored == nil {
            throw UsageError("There is no app \(id), and the folder has no app.json for it.")
        }
        for type in types {
            if let change = try await self.change(type.name, type.body, stored != nil, client, force) {
                plan.append(change)
            }
        }
        return plan
    }

    /// Compares what the file names. Private keys cannot be compared: they are sent with a new key id.
    private static func differences(_ stored: AppResource, _ wanted: AppRequest) -> [DocumentDifference] {
        var after = stored
        after.teamID = wanted.teamID
        after.channelsExclusive = wanted.channelsExclusive ?? stored.channelsExclusive
        after.channelPool = wanted.channelPool ?? stored.channelPool
        for (environment, key) in wanted.environments { after.environments[environment] = .init(keyID: key.keyID) }
        return DocumentDifference.between(stored.json, after.json)
    }

    private static func withoutKnownKeys(_ wanted: AppRequest, _ stored: AppResource?) -> AppRequest {
        var request = wanted
        for (environment, key) in wanted.environments where stored?.environments[environment]?.keyID == key.keyID {
            request.environments[environment]?.privateKey = nil
        }
        return request
    }

    private func change(
        _ name: ActivityTypeName,
        _ body: JSONObject,
        _ isAppStored: Bool,
        _ client: TallyClient,
        _ force: Bool
    ) async throws -> PlannedChange? {
        let request = try await Self.request(name, body)
        let stored =
            isAppStored
            ? try await unlessMissing { () async throws(ClientError) in try await client.type(id, name) } : nil
        var differences: [DocumentDifference] = []
        if let stored, case .schemas(let attributes, let contentState) = request.source {
            var after = stored
            after.attributesSchema = attributes
            after.contentStateSchema = contentState
            after.policy = request.policy ?? stored.policy
            after.minAppVersion = request.minAppVersion
            differences = DocumentDifference.between(stored.json, after.json)
            if differences.isEmpty { return nil }
        }
        return PlannedChange(subject: "type \(name) of \(id)", isNew: stored == nil, differences: differences) {
            client in
            _ = try await client.putType(id, name, request, force: force)
        }
    }

    /// The request with its schemas made, so that they can be compared.
    private static func request(_ name: ActivityTypeName, _ body: JSONObject) async throws -> TypeRequest {
        var request: TypeRequest
        do {
            request = try TypeRequest(json: .object(body))
        } catch {
            let errors = error.errors.map { "\($0.pointer): \($0.message)" }.joined(separator: " ")
            throw UsageError("types/\(name).json: \(errors)")
        }
        guard case .swift(let text, let supplied) = request.source else { return request }
        let source = ImportRequest(
            [SwiftSource(name: "\(name).swift", text: text)],
            typeName: name.rawValue,
            supplied: supplied
        )
        switch try await SwiftImporter().answer(to: source) {
        case .made(let schemas):
            request.source = .schemas(attributes: schemas.attributes, contentState: schemas.contentState)
        case .refused(let error): throw error
        }
        return request
    }
}

/// What the server answers; nil if it has no such thing.
func unlessMissing<Value>(_ body: () async throws(ClientError) -> Value) async throws(ClientError) -> Value? {
    do {
        return try await body()
    } catch {
        if error.problem?.status == 404 { return nil }
        throw error
    }
}
