package import APITypes
package import ActivityModel

extension TallyClient {
    /// Registers a type, or a new version of it. With `force`, it may break running activities.
    package func putType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool = false
    ) async throws(ClientError) -> TypeRegistration {
        var call = APICall.put("/v1/apps/\(app)/types/\(name)", request)
        if force { call.query = [("force", "true")] }
        return try await answer(to: call)
    }

    /// Changes only the parts of the policy that the patch names.
    package func patchType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ patch: TypePatch
    ) async throws(ClientError) -> TypeResource {
        try await answer(to: .patch("/v1/apps/\(app)/types/\(name)", patch))
    }

    /// One type with its newest version.
    package func type(_ app: BundleID, _ name: ActivityTypeName) async throws(ClientError) -> TypeResource {
        try await answer(to: .get("/v1/apps/\(app)/types/\(name)"))
    }

    package func types(
        _ app: BundleID,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<TypeResource> {
        try await answer(to: .get("/v1/apps/\(app)/types", query: page.query))
    }

    package func typeVersions(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<TypeVersionResource> {
        try await answer(to: .get("/v1/apps/\(app)/types/\(name)/versions", query: page.query))
    }

    /// Retires a version, or restores it.
    package func putTypeVersion(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ version: Int,
        _ request: TypeVersionRequest
    ) async throws(ClientError) -> TypeVersionResource {
        try await answer(to: .put("/v1/apps/\(app)/types/\(name)/versions/\(version)", request))
    }

    /// Checks content without sending it. The answer contains the schemas' errors; they are not thrown.
    package func validateContent(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: ValidationRequest
    ) async throws(ClientError) -> ValidationAnswer {
        try await answer(to: .post("/v1/apps/\(app)/types/\(name)/validate", harmless: request))
    }
}
