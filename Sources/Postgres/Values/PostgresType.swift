/// A server type: its OID and the OID of its arrays. Both are constants of the catalog `pg_type`.
package struct PostgresType: Sendable, Hashable {
    package let oid: UInt32
    package let arrayOID: UInt32

    package static let bool = PostgresType(oid: 16, arrayOID: 1000)
    package static let bytea = PostgresType(oid: 17, arrayOID: 1001)
    package static let int2 = PostgresType(oid: 21, arrayOID: 1005)
    package static let int4 = PostgresType(oid: 23, arrayOID: 1007)
    package static let int8 = PostgresType(oid: 20, arrayOID: 1016)
    package static let float4 = PostgresType(oid: 700, arrayOID: 1021)
    package static let float8 = PostgresType(oid: 701, arrayOID: 1022)
    package static let text = PostgresType(oid: 25, arrayOID: 1009)
    package static let varchar = PostgresType(oid: 1043, arrayOID: 1015)
    package static let bpchar = PostgresType(oid: 1042, arrayOID: 1014)
    package static let name = PostgresType(oid: 19, arrayOID: 1003)
    package static let unknown = PostgresType(oid: 705, arrayOID: 0)
    package static let json = PostgresType(oid: 114, arrayOID: 199)
    package static let jsonb = PostgresType(oid: 3802, arrayOID: 3807)
    package static let uuid = PostgresType(oid: 2950, arrayOID: 2951)
    package static let timestamptz = PostgresType(oid: 1184, arrayOID: 1185)
    package static let interval = PostgresType(oid: 1186, arrayOID: 1187)

    /// The first OID of user-defined types. These include enums, whose binary format is their label.
    static let firstUserOID: UInt32 = 16_384
}
