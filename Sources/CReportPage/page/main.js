// Starts the parts of the page. Each works without the others.

function start() {
    const started = document.getElementById("started");
    if (started) started.title = new Date(data.start).toLocaleString();
    for (const begin of [startTable, startTimeline]) {
        try {
            begin();
        } catch (error) {
            console.error(error);
        }
    }
    document.addEventListener("click", event => {
        const link = event.target.closest("a[data-task]");
        if (!link) return;
        const t = rowOf(Number(link.dataset.task));
        if (t < 0) return;
        event.preventDefault();
        show(t);
    });
    const wanted = /^#task-(\d+)$/.exec(location.hash);
    if (wanted && rowOf(Number(wanted[1])) >= 0) show(rowOf(Number(wanted[1])));
}

/** A task's place in the report. */
const numberOf = t => (tasks.number ? tasks.number[t] : t);

/** The row of the task that is the report's `number`-th; where not all tasks are in the page, they have their numbers with them. */
function rowOf(number) {
    return tasks.number ? tasks.number.indexOf(number) : number < taskCount ? number : -1;
}

start();
