import type { ImportedDocument, ImportProblem } from '../../core/apis/catalog/imported'
import type { Result } from '../../core/result'
import type { PlainOptions } from './import-document'

/** The instructions for the importing process, which reads the document from its standard input. */
export type ToImporter =
  | { readonly kind: 'import'; readonly options: PlainOptions; readonly fetches: boolean }
  | { readonly kind: 'fetched'; readonly url: string; readonly text: Result<string, string> }

/** A message of the importer. The document is JSON, whose own member `__proto__` is data like any other. */
export type FromImporter =
  | { readonly kind: 'fetch'; readonly url: string }
  | { readonly kind: 'done'; readonly json: string }

export type ImportResult = Result<ImportedDocument, ImportProblem>
