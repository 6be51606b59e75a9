package import Postgres

extension Rows {
    /// The first column of the first row; nil if there is no row.
    package func single<Value: PostgresDecodable>(_ type: Value.Type) throws -> Value? {
        try first.map { try $0.decode(type, at: 0) }
    }
}
