const PERIODS = { day: 'Per day', week: 'Per week', month: 'Per month' }

/** Budgets of a key, a member and the workspace. */
export const BUDGET_TEXT = {
  budgets: 'Budgets',
  none: 'No budget',
  periods: PERIODS,
  hint: (zone: string) =>
    `In USD. Leave empty for none. When one is used up, requests fail with 429 until its next period. Time zone: ${zone}.`,
  wrong: (period: keyof typeof PERIODS) =>
    `${PERIODS[period]}: enter an amount from 0.000001 to 1,000,000 with up to six decimals.`,
  raise: 'Raise for a while',
  raiseBy: 'Raise by',
  until: 'Until the end of',
  raiseWrong: (period: keyof typeof PERIODS) =>
    `${PERIODS[period]}: enter the amount to raise it by, and a last day that is not over.`,
  /** The words of a refusal: "5 USD a day". */
  a: (amount: string, period: keyof typeof PERIODS) => `${amount} a ${period}`,
  spentOf: (spent: string, limit: string, period: keyof typeof PERIODS) =>
    `${spent} of ${limit} ${period === 'day' ? 'today' : `this ${period}`}`,
  resets: (when: string, zone: string) => `Resets ${when} (${zone})`,
  raised: (amount: string, until: string) => `Raised by ${amount} until ${until}`,
  change: 'Change budgets',
  cancel: 'Cancel',
  save: 'Save budgets',
  saved: 'Budgets saved.',
} as const
