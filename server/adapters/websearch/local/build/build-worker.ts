import { reasonOf } from '../../../../core/result'
import { buildIndex } from './build-index'
import type { BuildAnswer, BuildRequest } from './ensure-index'

/** The build thread: it takes one request, reports progress, responds and ends. */
declare const self: Worker

self.onmessage = async ({ data }: MessageEvent<BuildRequest>) => {
  try {
    const counts = await buildIndex(data, (progress) => tell({ progress }))
    tell({ counts })
  } catch (problem) {
    tell({ problem: reasonOf(problem) })
  }
}

function tell(answer: BuildAnswer): void {
  self.postMessage(answer)
}
