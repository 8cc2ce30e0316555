import type { OutboundFetch } from '../../outbound/outbound-fetch'
import type { Result } from '../../result'
import type { ApiOperation } from '../api'

/** An operation as its document describes it. The operator adds what it costs, and how it is called. */
export type ImportedOperation = Pick<
  ApiOperation,
  | 'id'
  | 'method'
  | 'path'
  | 'title'
  | 'description'
  | 'parameters'
  | 'body'
  | 'effect'
  | 'answer'
  | 'examples'
  | 'headersDown'
>

/** A part of a document that cannot be sold, such as `GET /v1/forecast`, and why. */
export interface RefusedPart {
  readonly name: string
  readonly reason: string
}

/** The content of a document. All texts are plain: without HTML, control, direction and zero-width characters. */
export interface ImportedDocument {
  readonly title: string
  readonly description: string
  /** Absolute URLs, with the defaults of their variables. */
  readonly servers: readonly string[]
  readonly operations: readonly ImportedOperation[]
  readonly refused: readonly RefusedPart[]
  /** Omissions and unchecked parts. Each is a sentence. */
  readonly notices: readonly string[]
}

/** Why nothing of a document can be imported. `message` is a sentence for the operator. */
export interface ImportProblem {
  readonly message: string
}

export interface ImportOptions {
  /** The operations to import: `GET /v1/forecast`, or their ids. All if absent. */
  readonly only?: readonly string[]
  /** Where the API is called. Operations that the document serves elsewhere are refused. */
  readonly baseUrl?: string
  /** The URL that the document came from. References to other documents of its origin are fetched. */
  readonly origin?: string
  /** Fetches the other documents. Without it, and for other origins, such references are refused. */
  readonly fetchExternal?: OutboundFetch
}

/** Reads an OpenAPI document of a stranger. Takes a bounded amount of time and memory, and never throws for what the document says. */
export type ImportDocument = (text: string, options: ImportOptions) => Promise<Result<ImportedDocument, ImportProblem>>
