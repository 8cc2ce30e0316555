import { err, type Result } from '../../core/result'
import { importParsed, type PlainOptions } from './import-document'
import type { FromImporter, ToImporter } from './import-messages'
import { readDocument } from './read-document'

// The child process of `importOpenApi`: imports one document. It has no way out of its own: its parent fetches.
const MAX_RESULT = 32 * 1024 * 1024
const TOO_MUCH = 'The document gives more than 32 MB of operations: choose the operations to sell.'

const waiting = new Map<string, (text: Result<string, string>) => void>()

process.on('message', (message: ToImporter) => {
  if (message.kind === 'fetched') {
    waiting.get(message.url)?.(message.text)
    return
  }
  void importFromInput(message.options, message.fetches)
})
process.on('disconnect', () => process.exit(0))

async function importFromInput(options: PlainOptions, fetches: boolean): Promise<void> {
  const document = readDocument(await Bun.stdin.text())
  // The text is not needed any more, and may be as large as all that follows.
  Bun.gc(true)
  const result = await importParsed(document, options, fetches ? fetchByParent : null)
  const json = JSON.stringify(result)
  if (json.length <= MAX_RESULT) tell({ kind: 'done', json })
  else tell({ kind: 'done', json: JSON.stringify(err({ message: TOO_MUCH })) })
}

function fetchByParent(url: string): Promise<Result<string, string>> {
  const { promise, resolve } = Promise.withResolvers<Result<string, string>>()
  waiting.set(url, resolve)
  tell({ kind: 'fetch', url })
  return promise
}

function tell(message: FromImporter): void {
  process.send?.(message)
}
