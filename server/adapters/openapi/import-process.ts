import type { Result } from '../../core/result'
import { importDocument } from './import-document'
import type { FromImporter, ToImporter } from './import-messages'

/** The child process of `importOpenApi`: imports one document. It has no way out of its own: its parent fetches. */
const waiting = new Map<string, (text: Result<string, string>) => void>()

process.on('message', (message: ToImporter) => {
  if (message.kind === 'fetched') {
    waiting.get(message.url)?.(message.text)
    return
  }
  const { text, options, fetches } = message
  void importDocument(text, options, fetches ? fetchByParent : null).then((result) =>
    tell({ kind: 'done', json: JSON.stringify(result) }),
  )
})
process.on('disconnect', () => process.exit(0))

function fetchByParent(url: string): Promise<Result<string, string>> {
  const { promise, resolve } = Promise.withResolvers<Result<string, string>>()
  waiting.set(url, resolve)
  tell({ kind: 'fetch', url })
  return promise
}

function tell(message: FromImporter): void {
  process.send?.(message)
}
