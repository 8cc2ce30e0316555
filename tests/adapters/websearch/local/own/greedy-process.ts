import type { ToReader } from '../../../../../server/adapters/websearch/local/own/own-content'

/** Stands in for the process that reads files: takes memory, takes for ever, dies or answers, as the name of the file says. */
const taken: Uint8Array[] = []
process.on('message', ({ file }: ToReader) => {
  if (file.origin === 'crashes') process.exit(3)
  if (file.origin === 'hangs') for (;;);
  if (file.origin === 'grows') for (;;) taken.push(new Uint8Array(16 * 1024 * 1024).fill(1))
  process.send?.({ content: { document: null, images: [], pid: process.pid } })
})
