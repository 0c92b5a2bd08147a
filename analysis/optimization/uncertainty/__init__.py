"""How sure a recommendation is: bootstrap intervals, regret of routing, the published Figure 16."""
