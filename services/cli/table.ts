/** Cuts a text to a width; the last place shows that something is missing. */
export const clip = (text: string, width: number): string => {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, Math.max(0, width - 1)).join('')}…`;
};

/** A table for people: columns as wide as their widest cell, lines cut at `width` where one is given. */
export const table = (head: string[], rows: string[][], width = Number.POSITIVE_INFINITY): string => {
  const all = [head, ...rows];
  const widths = head.map((_name, column) => Math.max(...all.map((row) => [...(row[column] ?? '')].length)));
  const line = (row: string[]): string =>
    clip(row.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length)).join('  ').trimEnd(), width);
  return all.map(line).join('\n');
};
