/** Charts on any page. */
export const CHART_TEXT = {
  other: 'Other',
  total: 'Total',
  soFar: 'so far',
  legend: 'Legend',
  asTable: 'Show as table',
  time: 'Time',
  zone: (zone: string) => `Times are in ${zone}.`,
} as const
