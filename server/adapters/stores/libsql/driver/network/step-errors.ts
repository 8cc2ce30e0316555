import type { Send } from './bounded-fetch'

const ERRORS = '"step_errors":['
const NO_ERRORS = /(?:null,?)*\]/y

/** Whether every step of a batch ran, by the text of its answer; null if that is not one to a batch. Inside of a value the quotes would be escaped. */
function ranAllSteps(text: string): boolean | null {
  const at = text.lastIndexOf(ERRORS)
  if (at < 0) return null
  NO_ERRORS.lastIndex = at + ERRORS.length
  return NO_ERRORS.test(text)
}

/** Whether it is the answer to a batch of which every step ran. */
export function ranWhole(text: string): boolean {
  return ranAllSteps(text) === true
}

/**
 * Sends like `send`, and leaves of a batch's errors the first, at the first step without a result. A libSQL server that rolls a batch back by force, as it does after 5 s while others
 * wait for the lock, refuses every step that is left. The client throws the first of these errors and does not handle the others, and an
 * unhandled error ends the thread, and with it the gateway.
 */
export function firstStepErrorOnly(send: Send): Send {
  return async (request) => {
    const answer = await send(request)
    if (!answer.ok) return answer
    const text = await answer.text()
    return new Response(ranAllSteps(text) === false ? withFirstErrors(text) : text, answer)
  }
}

interface Pipeline {
  readonly results: readonly {
    readonly response?: { readonly result?: { step_results?: unknown[]; step_errors?: unknown[] } }
  }[]
}

function withFirstErrors(text: string): string {
  const pipeline = JSON.parse(text) as Pipeline
  for (const { response } of pipeline.results) {
    const { result } = response ?? {}
    if (!result?.step_errors) continue
    const { step_results = [], step_errors } = result
    const first = step_errors.find((error) => error !== null)
    const failed = step_errors.findIndex((error, step) => error !== null || (step_results[step] ?? null) === null)
    result.step_errors = step_errors.map((_, step) => (step === failed ? first : null))
  }
  return JSON.stringify(pipeline)
}
