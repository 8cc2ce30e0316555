import type { ReactNode } from 'react'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import type { Column } from '../../ui/layout/table.tsx'

/** The footer of a table: the total of each column. */
export function SumRow<Row>({ columns, sums }: { columns: readonly Column<Row>[]; sums: readonly ReactNode[] }) {
  return (
    <tr>
      <th scope="row" className="px-4 py-3 text-left font-medium sm:px-6">
        {TEXT.sum}
      </th>
      {sums.map((sum, at) => (
        <td key={columns[at + 1]?.id} className="px-3 py-3 text-right last:pr-4 sm:last:pr-6">
          {sum}
        </td>
      ))}
    </tr>
  )
}
