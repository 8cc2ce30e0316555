import { openHarness } from '../harness'

/** The gateway on a chain, with room for as many payments and callers as a test makes, and its rail open. */
export async function openPayable(
  sandbox: { readonly env: Readonly<Record<string, string>> },
  env: Readonly<Record<string, string>> = {},
  folder?: string,
) {
  const gateway = await openHarness({
    running: true,
    env: { ...sandbox.env, PAYMENTS_ATTEMPTS_RPM: '1000000', ANON_RPM: '1000000', ...env },
    ...(folder && { folder }),
  })
  await gateway.gateway.rail.open()
  return gateway
}
