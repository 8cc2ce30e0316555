// Runs the first calls of one client and prints one JSON line for each: what it was, and why it failed if it did.
export const ORIGIN = process.env.GATEWAY_ORIGIN
export const KEY = process.env.GATEWAY_API_KEY

export function holds(value, what = 'an empty answer') {
  if (!value) throw new Error(what)
}

export async function runCalls(calls) {
  for (const [call, run] of Object.entries(calls)) {
    const why = await run().then(
      () => null,
      (error) => `${error?.name ?? 'Error'}: ${error?.message ?? error}`.slice(0, 600),
    )
    process.stdout.write(`${JSON.stringify({ call, why })}\n`)
  }
  process.exit(0)
}
