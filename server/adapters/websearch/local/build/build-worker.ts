import { reasonOf } from '../../../../core/result'
import { finalizeStatements } from '../../../stores/libsql/driver/file/finalize-statements'
import { buildIndex } from './build-index'
import { type BuildAnswer, type BuildRequest, isUpToDate } from './ensure-index'

/** The build thread: it takes one request, reports progress, responds and ends. */
declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<BuildRequest>) => {
  const made = async () => ((await isUpToDate(data)) ? null : buildIndex(data, (progress) => tell({ progress })))
  const answer: BuildAnswer = await made().then(
    (counts) => ({ counts }),
    (problem) => ({ problem: reasonOf(problem) }),
  )
  await finalizeStatements()
  tell(answer)
}

function tell(answer: BuildAnswer): void {
  self.postMessage(answer)
}
