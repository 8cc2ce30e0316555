/** The largest OpenAPI document that can be imported, and the largest file or address that one may refer to. In bytes. */
export const MAX_DOCUMENT_BYTES = 20_000_000
