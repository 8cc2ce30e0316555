import { type FromReader, type ToReader, Unreadable } from './own-content'
import { readOwnFile } from './read-own-file'

/** The child process of `FileReader`: reads one file after another. Its parent ends it if a file exceeds the limits. */
process.on('message', ({ file, settings }: ToReader) => {
  void readOwnFile(file, settings).then(
    (content) => answer({ content }),
    (problem: unknown) =>
      answer({ problem: problem instanceof Unreadable ? problem.message : `could not be read: ${String(problem)}` }),
  )
})
process.on('disconnect', () => process.exit(0))

function answer(message: FromReader): void {
  process.send?.(message)
}
