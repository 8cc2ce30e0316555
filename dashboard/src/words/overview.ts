/** The overview. */
export const OVERVIEW_WORDS = {
  balance: 'Balance',
  spendToday: 'Spend today',
  requestsToday: 'Requests today',
  failed: (share: string) => `${share} failed`,
  noneFailed: 'None failed',
  keys: 'Active keys',
  ofAll: (count: number) => `of ${count} in all`,
  held: (amount: string) => `${amount} held by requests under way`,
  quickstart: 'Make a request',
  quickstartText: 'Put a key of yours in the variable GATEWAY_API_KEY, then paste this.',
  command: 'The command',
  copyCommand: 'Copy command',
} as const
